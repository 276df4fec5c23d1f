"""An OpenID Connect provider with a password for each of its users: Canaille, with its data in memory.

python provider.py PORT USER...: a client `iri` with the secret `secret`, for whose audience its tokens are.
"""

from __future__ import annotations

import sys

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend

PASSWORD = CLIENT_SECRET = "secret"  # noqa: S105


def main(port: int, users: list[str]) -> None:
    """Serve until a signal."""
    app = create_app(
        {
            "SECRET_KEY": "x",
            "SERVER_NAME": f"127.0.0.1:{port}",
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {"DATABASE": "memory"},
        }
    )
    with app.app_context():
        for name in users:
            user = models.User(user_name=name, family_name=name, formatted_name=name, password=PASSWORD)
            user.emails = [f"{name}@example.org"]
            Backend.instance.save(user)
        client = models.Client(client_id="iri", client_secret=CLIENT_SECRET, client_name="iri")
        client.redirect_uris, client.grant_types = ["http://127.0.0.1/"], ["password"]
        client.scope, client.token_endpoint_auth_method = ["openid", "profile"], "client_secret_basic"
        Backend.instance.save(client)
        client.audience = [client]
        Backend.instance.save(client)
    app.run(port=port)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
