"""Say what to write instead of some frequent mistakes that no similar word corrects.

Example::

    of_name('hw:max_cpu_cores') == 'did you mean hw:cpu_max_cores?'
    of_value('hw_architecture', 'arm64') == 'did you mean aarch64?'

Source: the words of ``nova/objects/fields.py``, and the operators of
``nova/scheduler/filters/extra_specs_ops.py``, which a space must follow.
"""

from __future__ import annotations

import re

#: A pattern of unknown names, and the hint; {0} is the first group.
_NAMES = (
    (r'hw:max_cpu_(cores|sockets|threads)', 'did you mean hw:cpu_max_{0}?'),
    (r'resources[^:]*:(?!CUSTOM_).+', 'the name of a custom resource class begins with CUSTOM_'),
    (r'trait[^:]*:(?!CUSTOM_).+', 'the name of a custom trait begins with CUSTOM_'),
)
#: A pattern of names, one of values, and the hint; {0} is the first group of the value.
_VALUES = (
    (r'hw_(?:emulation_)?architecture', r'(?i:arm64|armv8)', 'did you mean aarch64?'),
    (r'hw_(?:emulation_)?architecture', r'(?i:x64)', 'did you mean x86_64?'),
    (r'hw[:_]cpu_policy', r'(?i:pin|pinned)', 'did you mean dedicated?'),
    (r'hw_(?:cdrom|disk|rescue)_bus', r'virtio-scsi', 'write scsi, and hw_scsi_model=virtio-scsi'),
    (r'hw_vif_model', r'virtio-net(?:-pci)?', 'did you mean virtio?'),
    (r'img_config_drive', r'(?i:true|yes|1)', 'did you mean mandatory?'),
    (r'os[:_]secure_boot', r'(?i:true|yes|1)', 'did you mean required?'),
    (r'hw[:_]tpm_version', r'2', 'did you mean 2.0?'),
    (r'pci_passthrough:alias', r'([^:,]+)', 'give the number of devices, too, as in {0}:1'),
    (r'os_type', r'(centos|debian|fedora|rhel|ubuntu)', 'write linux, and os_distro={0}'),
    (
        r'(?:aggregate_instance_extra_specs|capabilities):.+',
        r'(<(?:or|in|all-in)>|s[=!<>]=|s[<>](?!=)|[=!<>]=|=(?!=))(\S(?s:.*))',
        'Nova compares it literally, because no space follows the operator: write {0} {1}',
    ),
)


def of_name(name: str) -> str | None:
    """Return the hint for an unknown name; None if there is none."""
    found = ((re.fullmatch(names, name), text) for names, text in _NAMES)
    return next((text.format(*each.groups()) for each, text in found if each), None)


def of_value(name: str, value: str) -> str | None:
    """Return the hint for an invalid or odd value of a known name; None if there is none."""
    for names, values, text in _VALUES:
        found = re.fullmatch(values, value)
        if found is not None and re.fullmatch(names, name):
            return text.format(*found.groups())
    return None
