# Answers cases, one a line: secret|id|timestamp|signature|body in base64.
import base64
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from verify import verify_webhook  # noqa: E402

for line in sys.stdin:
    secret, webhook_id, timestamp, signature, body = line.rstrip("\n").split("|")
    headers = {"webhook-id": webhook_id, "webhook-timestamp": timestamp, "webhook-signature": signature}
    print(str(verify_webhook(secret, headers, base64.b64decode(body))).lower())
