import pytest

from harness.errors import UserError


def refusal(function, *arguments, **options):
    """The sentence with which a call is refused."""
    with pytest.raises(UserError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
