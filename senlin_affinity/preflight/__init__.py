"""Questions about a cloud, and which part of the cloud decides them."""
