"""Convert image properties to the names and values that Nova's filters compare.

Nova renames old properties, drops unknown ones, and converts each value to the type of its
property. A filter compares the converted value as a string.

Source: Nova's ``ImageMetaProps`` (nova 34). Deviation: properties that are not listed here are not
converted.
"""

from __future__ import annotations

from collections.abc import Mapping

from senlin_affinity.model.numbers import TRUE

_OLD = """
    architecture=hw_architecture auto_disk_config=hw_auto_disk_config bdm_v2=img_bdm_v2
    bittorrent=img_bittorrent block_device_mapping=img_block_device_mapping
    cache_in_nova=img_cache_in_nova hypervisor_type=img_hv_type
    hypervisor_version_requires=img_hv_requested_version ipxe_boot=hw_ipxe_boot
    mappings=img_mappings owner_id=img_owner_id root_device_name=img_root_device_name
    vm_mode=hw_vm_mode vmware_disktype=hw_disk_type vmware_image_version=img_version
    vmware_linked_clone=img_linked_clone vmware_ostype=os_distro xenapi_device_id=hw_device_id
    xenapi_image_compression_level=img_compression_level
    xenapi_skip_agent_inject_files_at_boot=os_skip_agent_inject_files_at_boot
    xenapi_skip_agent_inject_ssh=os_skip_agent_inject_ssh xenapi_use_agent=img_use_agent
"""
#: Old names of properties, which Nova reads if the current name is absent.
OLD_NAMES: Mapping[str, str] = {
    old: new for old, _is, new in (word.partition('=') for word in _OLD.split())
}
_TEXTS = """
    hw_auto_disk_config hw_cdrom_bus hw_cpu_policy hw_cpu_realtime_mask hw_cpu_thread_policy
    hw_disk_bus hw_disk_type hw_firmware_type hw_floppy_bus hw_input_bus hw_machine_type
    hw_maxphysaddr_mode hw_mem_page_size hw_pointer_model hw_rescue_bus hw_rescue_device
    hw_rng_model hw_sound_model hw_tpm_model hw_tpm_version hw_usb_model hw_video_model
    hw_vif_model hw_viommu_model hw_watchdog_action img_owner_id img_root_device_name
    img_signature os_admin_user os_command_line os_distro os_secure_boot
"""
_NUMBERS = """
    hw_cpu_cores hw_cpu_max_cores hw_cpu_max_sockets hw_cpu_max_threads hw_cpu_sockets
    hw_cpu_threads hw_device_id hw_maxphysaddr_bits hw_numa_nodes hw_redirected_usb_ports
    hw_serial_port_count hw_video_ram img_compression_level img_version
"""
_FLAGS = """
    hw_boot_menu hw_firmware_stateless hw_ipxe_boot hw_locked_memory hw_mem_encryption hw_pmu
    hw_qemu_guest_agent hw_time_hpet hw_vif_multiqueue_enabled hw_virtio_packed_ring img_bdm_v2
    img_bittorrent img_cache_in_nova img_hide_hypervisor_id img_linked_clone img_use_agent
    os_require_quiesce os_skip_agent_inject_files_at_boot os_skip_agent_inject_ssh
"""
_KINDS: Mapping[str, str] = {
    name: kind
    for kind, names in (('text', _TEXTS), ('number', _NUMBERS), ('flag', _FLAGS))
    for name in names.split()
}


def known_names(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties by their current names, which take precedence over old ones."""
    renamed = {OLD_NAMES[name]: value for name, value in properties.items() if name in OLD_NAMES}
    return {**renamed, **{key: item for key, item in properties.items() if key not in OLD_NAMES}}


def filter_value(name: str, value: str) -> str | None:
    """Return the string that a filter compares; '' for no value, None if unknown."""
    kind = _KINDS.get(name)
    if kind == 'text':
        return value
    if name == 'os_type':
        return value.lower()
    if kind == 'number':
        is_plain = value.isascii() and value.isdecimal()
        return str(int(value) or '') if is_plain else None
    if kind == 'flag':
        return 'True' if value.strip().lower() in TRUE else ''
    return None
