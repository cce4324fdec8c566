"""A partner's server: it creates sessions, receives webhooks, and keeps answers."""

import base64
import hashlib
import hmac
import json
import os
import time
import traceback
import urllib.parse
import urllib.request
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = os.environ["CANDOR_API_KEY"]
SECRET = os.environ["CANDOR_WEBHOOK_SECRET"]
API = os.environ["CANDOR_URL"]
PORT = int(os.environ.get("PORT", "3000"))
PUBLIC_URL = os.environ.get("PUBLIC_URL", f"http://localhost:{PORT}")

applications = {}  # by our reference; a real server has a database
seen = set()  # ids of webhooks that are done


def candor(path, body=None, **headers):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **headers}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(API + path, data, headers), timeout=30) as response:
        return response.read()


def candor_json(path, body=None, **headers):
    return json.loads(candor(path, body, **headers), parse_float=Decimal)  # a float would lose cents


def verify(headers, body):
    """Standard Webhooks; the package standardwebhooks does the same."""
    message_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent.isdigit() or abs(time.time() - int(sent)) > 300:
        return False
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signature = hmac.new(key, f"{message_id}.{sent}.".encode() + body, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(signature).decode()
    return any(hmac.compare_digest(wanted.encode(), one.encode()) for one in headers.get("webhook-signature", "").split())


def apply(application):
    reference = application["reference"]
    session = candor_json(
        "/sessions",
        {
            "form_type": "financial_statement",
            "customer_email": application["email"],
            "reference_id": reference,
            "webhook_url": f"{PUBLIC_URL}/webhooks",
            "simulate": application.get("simulate"),
        },
        **{"Idempotency-Key": f"application-{reference}"},  # a retry creates no second session
    )
    applications.setdefault(reference, {"session": session["id"], "status": "sent"})
    return {"session_url": session["session_url"]}


def take(event):
    if "session_id" not in event or event["sequence"] == 0:  # about billing, or a test event: its session doesn't exist
        return
    path = f"/sessions/{event['session_id']}"
    session = candor_json(path)
    application = applications.setdefault(session["reference_id"], {"session": session["id"]})
    application["status"] = session["status"]
    if event["event"] == "session.completed":
        summary = candor_json(path + "/data")["data"]["summary"]
        application["net_worth"] = f"{summary['net_worth']:.2f}"
    if event["event"] == "session.pdf_ready":
        name = f"{session['id']}.pdf"
        with open(name, "wb") as file:
            file.write(candor(path + "/pdf"))
        application["pdf"] = name


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))  # the raw body, before it is parsed
        try:
            if self.path == "/applications":
                self.answer(200, apply(json.loads(body)))
            elif self.path != "/webhooks":
                self.answer(404, {"error": "there is nothing here"})
            elif not verify(self.headers, body):
                self.answer(401, {"error": "the signature doesn't fit"})
            else:
                if self.headers["webhook-id"] not in seen:
                    take(json.loads(body))
                    seen.add(self.headers["webhook-id"])
                self.answer(200, {})
        except Exception:  # Candor sends the event again
            traceback.print_exc()
            self.answer(500, {"error": "try again"})

    def do_GET(self):
        application = applications.get(urllib.parse.unquote(self.path.removeprefix("/applications/")))
        self.answer(200 if application else 404, application or {"error": "there is no such application"})

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        """Write no log: addresses can be personal."""


ThreadingHTTPServer(("", PORT), Handler).serve_forever()
