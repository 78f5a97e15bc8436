"""Run a real Nova, Placement and Senlin on one machine, for the demo and the tests."""
