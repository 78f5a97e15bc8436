"""Alias the aggregate filter's path of before 0.10, which nova.conf may name; removed in 1.0."""

from senlin_affinity.plugins.nova.aggregate_filter import (
    AggregateInstanceTypeFilter as AggregateInstanceTypeFilter,
)
