"""The labelled texts of a version by its criteria: searched, filtered and sorted by any column, page by page."""

from __future__ import annotations

from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.errors import SettingsError
from rubriclab.pydantic_errors import first_fault
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.matrix import Query


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of the matrix of texts by criteria: `/REF/texts`, with the fields of `Query`."""

    def texts(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        query = _query(request)
        matrix = studio.matrices.get(version)
        page = matrix.page(query)

        def address(**changes: object) -> str:
            """Return the address of the same texts with something changed, on the first page unless it says which."""
            fields = {**query.model_dump(exclude_defaults=True), "page": 1, **changes}
            return f"?{urlencode({name: value for name, value in fields.items() if value != _DEFAULTS[name]})}"

        return studio.page(
            "texts.html",
            f"Labelled texts of {version.ref}",
            version,
            "texts",
            query=query,
            result=page,
            total=len(matrix.record.texts),
            filtered=bool(query.side or query.every),
            address=address,
        )

    return [Route("/{ref}/texts", texts)]


_DEFAULTS = Query().model_dump()


def _query(request: Request) -> Query:
    """Return what the address asks for."""
    given = {name: value for name, value in request.query_params.items() if value != ""}
    try:
        return Query.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"The address is not understood: {first_fault(error)}.", "Open the page again.") from None
