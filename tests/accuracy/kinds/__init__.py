"""The kinds of clouds, each a function that makes a case from a seed."""

from tests.accuracy.case import Generator
from tests.accuracy.kinds import images, options, plain, resources

KINDS: dict[str, Generator] = {
    'plain': plain.case,
    'images': images.case,
    'filters': options.case,
    'ratios': resources.ratios,
    'custom classes': resources.custom_classes,
}
