import base64
import hashlib
import hmac
import re
import time

WEBHOOK_TOLERANCE = 5 * 60  # seconds


def verify_webhook(secret, headers, body):
    """Says whether Candor sent this request.

    headers has its headers by their names in lower case; body is the bytes
    that arrived, before anything parses them.
    """
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > WEBHOOK_TOLERANCE:
        return False

    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())

    # There is one signature of each secret while you change it; one that fits
    # is enough.
    given = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(one, expected) for one in given)
