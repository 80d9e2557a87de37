"""Bedrock's Converse as the libraries of AWS know it, since no emulator has it.

Every request has to carry the signature that botocore computes and a body that botocore's model of the service
accepts; streams are framed by moto's encoder. Answers echo the last text of the conversation, or call a tool once.

Arguments: the port, and for TLS the directory of trustme's certificates.
"""

import datetime
import json
import re
import ssl
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.session
import botocore.validate
from moto.core.eventstream import EventStreamEncoder

CREDENTIALS = {
    "AKIDSTATIC": botocore.credentials.Credentials("AKIDSTATIC", "static-secret-0123456789"),
    "AKIDCONTAINER": botocore.credentials.Credentials("AKIDCONTAINER", "container-secret-01234", "container-token"),
}
MODEL = botocore.session.get_session().get_service_model("bedrock-runtime")


def wrong_signature(method, url, headers, body):
    match = re.match(
        r"AWS4-HMAC-SHA256 Credential=(\w+)/\d+/([\w-]+)/bedrock/aws4_request, SignedHeaders=([\w;-]+), Signature=",
        headers.get("authorization", ""),
    )
    if not match or match[1] not in CREDENTIALS:
        return "no credentials that are known"
    signed = {name: headers[name] for name in match[3].split(";") if name in ("content-type", "host")}
    request = botocore.awsrequest.AWSRequest(method, url, headers=signed, data=body)
    moment = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: moment
    botocore.auth.SigV4Auth(CREDENTIALS[match[1]], "bedrock", match[2]).add_auth(request)
    if request.headers["Authorization"] != headers["authorization"]:
        return f"expected {request.headers['Authorization']}"
    return None


def answer_to(body):
    last = body["messages"][-1]["content"]
    if "toolConfig" in body and not any("toolResult" in block for block in last):
        return {"toolUse": {"toolUseId": "tooluse_1", "name": "read_file", "input": {"path": "a.txt"}}}, "tool_use"
    texts = [block["text"] for block in last if "text" in block]
    texts += [part["text"] for block in last if "toolResult" in block for part in block["toolResult"]["content"]]
    return {"text": "echo: " + texts[-1]}, "end_turn"


def frame(kind, payload):
    headers = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    return EventStreamEncoder().encode_message(headers, json.dumps(payload).encode())


def frames(block, reason, usage):
    yield frame("messageStart", {"role": "assistant"})
    if "toolUse" in block:
        call = block["toolUse"]
        start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
        yield frame("contentBlockStart", {"contentBlockIndex": 0, "start": start})
        deltas = [{"toolUse": {"input": piece}} for piece in ('{"path": ', '"a.txt"}')]
    else:
        deltas = [{"text": piece} for piece in re.findall(r".{1,4}", block["text"])]
    for delta in deltas:
        yield frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta})
    yield frame("contentBlockStop", {"contentBlockIndex": 0})
    yield frame("messageStop", {"stopReason": reason})
    yield frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # a container's credentials
        credentials = CREDENTIALS["AKIDCONTAINER"]
        expiration = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        self.answer(200, {
            "AccessKeyId": credentials.access_key,
            "SecretAccessKey": credentials.secret_key,
            "Token": credentials.token,
            "Expiration": expiration.strftime("%Y-%m-%dT%H:%M:%SZ"),
        })

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        wrong = wrong_signature("POST", f"http://{headers['host']}{self.path}", headers, body)
        if wrong:
            return self.answer(403, {"message": wrong}, {"x-amzn-errortype": "InvalidSignatureException:"})
        _, _, model, operation = self.path.split("/")
        name = {"converse": "Converse", "converse-stream": "ConverseStream"}[operation]
        parameters = {"modelId": urllib.parse.unquote(model), **json.loads(body)}
        report = botocore.validate.ParamValidator().validate(parameters, MODEL.operation_model(name).input_shape)
        if report.has_errors():
            return self.answer(400, {"message": report.generate_report()}, {"x-amzn-errortype": "ValidationException"})
        block, reason = answer_to(parameters)
        usage = {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}
        if operation == "converse":
            message = {"role": "assistant", "content": [block]}
            return self.answer(200, {"output": {"message": message}, "stopReason": reason, "usage": usage})
        self.respond(200, b"".join(frames(block, reason, usage)), {"content-type": "application/vnd.amazon.eventstream"})

    def answer(self, status, body, headers={}):
        self.respond(status, json.dumps(body).encode(), {"content-type": "application/json", **headers})

    def respond(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{sys.argv[2]}/server.pem", f"{sys.argv[2]}/server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
