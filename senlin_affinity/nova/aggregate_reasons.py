"""The reason codes, sentences and advice for extra specs and the metadata of aggregates.

``asked`` and ``found`` are the raw values of the two sides; ``found`` is empty without such a key.
``aggregates`` are the names of the aggregates with the key, or of all aggregates of the host if
none has it ("none" if it is in no aggregate).
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.reason import Reason

REASONS: Mapping[str, Reason] = {
    'aggregate_metadata.matches': Reason(
        'the extra specs match the metadata of the aggregates (mode: {mode})'
    ),
    'aggregate_metadata.nothing_asked': Reason(
        'neither the extra specs nor the aggregates require anything'
    ),
    'aggregate_metadata.missing_key': Reason(
        'the flavor requires {key} "{asked}", but no aggregate of the host has this key '
        '(its aggregates: {aggregates})',
        advice='set the key on an aggregate of the host, or write "<or> VALUE <or> ~" in the extra '
        'spec',
    ),
    'aggregate_metadata.mismatch': Reason(
        'the flavor requires {key} "{asked}", but the metadata of {aggregates} has "{found}"',
        advice='change the extra spec or the metadata, or use hosts of another aggregate',
    ),
    'aggregate_metadata.unwanted_key': Reason(
        'the flavor requires hosts without {key} ("{asked}"), but the metadata of {aggregates} '
        'has "{found}"',
        advice='use hosts without the key, or name the values that are allowed after "<or>"',
    ),
    'aggregate_metadata.forced_missing_key': Reason(
        'the metadata of {aggregates} requires {key} "{asked}" of every flavor, but this flavor '
        'lacks it',
        advice='set the extra spec, or use hosts of another aggregate',
    ),
    'aggregate_metadata.forced_mismatch': Reason(
        'the metadata of {aggregates} requires {key} "{asked}" of every flavor, '
        'but this flavor has "{found}"',
        advice='change the extra spec, or use hosts of another aggregate',
    ),
    'aggregate_metadata.forced_unwanted_key': Reason(
        'the metadata of {aggregates} requires flavors without {key} ("{asked}"), '
        'but this flavor has "{found}"',
        advice='remove the extra spec from the flavor, or use hosts of another aggregate',
    ),
    'aggregate_metadata.not_comparable': Reason(
        'the metadata of {aggregates} requires {key} "{asked}", and the flavor has "{found}": '
        'two operators cannot be compared',
        advice='write plain values on one of the two sides',
    ),
    'aggregate_metadata.illegal': Reason(
        '{key} is "{value}" in {where}: "!" says that the key must be absent, '
        'so no other value is allowed with it',
        advice='write "!" alone; "~" permits an absent key beside other values',
    ),
    'aggregate_metadata.unsatisfiable': Reason(
        '{key} is "{value}" in {where}, which no value satisfies',
        advice='add an operand to the operator: a number for = == != >= <=, words for the others',
    ),
    'aggregate_metadata.unreadable': Reason(
        '{key} is {value} in {where}, which is not a string',
        advice='write the metadata as a string',
    ),
}

#: The reasons of Nova's own filter, which has neither sentinels nor forced keys.
NOVA_REASONS: Mapping[str, Reason] = {
    'aggregate_metadata.nova_matches': Reason(
        "Nova's own filter: the extra specs match the metadata of the aggregates"
    ),
    'aggregate_metadata.nova_missing_key': Reason(
        'Nova\'s own filter: the flavor requires {key} "{asked}", but no aggregate of the host '
        'has this key (its aggregates: {aggregates})',
        advice='set the key on an aggregate of the host, or remove the extra spec from the flavor',
    ),
    'aggregate_metadata.nova_mismatch': Reason(
        'Nova\'s own filter: the flavor requires {key} "{asked}", but the metadata of '
        '{aggregates} has "{found}"',
        advice='change the extra spec or the metadata, or use hosts of another aggregate',
    ),
    'aggregate_metadata.nova_fails': Reason(
        'Nova\'s own filter fails on {key}: "{asked}" and "{found}" in {aggregates}; '
        'then the whole request fails, not only this host',
        advice='correct the operator in the extra spec, or the metadata',
    ),
}
