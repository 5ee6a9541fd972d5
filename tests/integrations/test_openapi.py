"""The description of `rubriclab serve`, by the validator of OpenAPI."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("openapi_spec_validator", reason="needs openapi-spec-validator: run make test-integrations")

from openapi_spec_validator import OpenAPIV31SpecValidator

from rubriclab.web.api_models import description


@pytest.mark.parametrize("tokens", [True, False])
def test_the_description_is_valid_openapi_3_1(tokens: bool) -> None:
    found = json.loads(json.dumps(description(tokens=tokens)))
    assert found["openapi"] == "3.1.0"
    assert list(OpenAPIV31SpecValidator(found).iter_errors()) == []
