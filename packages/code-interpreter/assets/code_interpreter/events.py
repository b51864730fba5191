"""The lines of the answer of POST /execute. Pure."""

import ast
import json

from .limits import RESULT_BYTES, TEXT_CHARACTERS

CHART = "application/vnd.code-interpreter.chart+json"
DATA = "application/vnd.code-interpreter.data+json"

FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    CHART: "chart",
    DATA: "data",
}


def output(kind, text):
    """stdout or stderr, cut into lines of bounded length."""
    for start in range(0, len(text), TEXT_CHARACTERS):
        yield {"type": kind, "text": text[start : start + TEXT_CHARACTERS]}


def error(name, value, traceback):
    return {"type": "error", "name": name, "value": value[:RESULT_BYTES], "traceback": traceback[:RESULT_BYTES]}


def count(number):
    return {"type": "number_of_executions", "execution_count": number}


def ended(expected=True):
    return {"type": "end_of_execution" if expected else "unexpected_end_of_execution"}


def result(bundle, main):
    """A result from its representations by MIME type. Types without a field of their own keep their name."""
    event = {"type": "result", "is_main_result": main}
    for mime, value in bundle.items():
        field = FIELDS.get(mime, mime)
        if field in ("type", "is_main_result"):
            continue
        if field == "text":
            value = unquoted(value)
        elif field in ("png", "jpeg", "pdf") and isinstance(value, str):
            value = value.replace("\n", "")
        event[field] = value
    return event


def unquoted(text):
    """The string that a text of a result is the literal of: clients show results, and want `hello`, not `'hello'`."""
    if not isinstance(text, str) or len(text) < 2 or text[0] not in "'\"" or text[-1] != text[0]:
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def encode(event):
    """The bytes of an event, and nothing longer than a client has to take."""
    line = to_bytes(event)
    if len(line) <= RESULT_BYTES or event["type"] != "result":
        return line
    kept, left = {"type": "result", "is_main_result": event["is_main_result"]}, []
    for field, value in event.items():
        size = len(to_bytes(value))
        if size <= RESULT_BYTES // 8:
            kept[field] = value
        else:
            left.append(f"{field} ({size // 1024 // 1024} MiB)")
    if "text" not in kept and isinstance(event.get("text"), str):
        kept["text"] = event["text"][: RESULT_BYTES // 64] + "..."
    note = f"A result is too long to be shown: {', '.join(left)} left out. Write it to a file instead.\n"
    return b"".join([*(to_bytes(each) for each in output("stderr", note)), to_bytes(kept)])


def to_bytes(value):
    # A lone surrogate, which UTF-8 cannot say, becomes a question mark; NaN and infinity become null.
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(finite(value), ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace") + b"\n"


def finite(value):
    """A copy without numbers that JSON does not know."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value
