"""Alias the request filter's path of before 0.10, which nova.conf may name; removed in 1.0."""

from senlin_affinity.plugins.nova.request_filter import install as install
