/** Characters of one stream that a model is given: more fills its context, and what matters is at both ends. */
const HEAD = 4_000;
const TAIL = 12_000;

/** The begin and the end of a text that is too long for a model, with what is between them counted. Pure. */
export function shorten(text: string, head = HEAD, tail = TAIL): string {
  if (text.length <= head + tail) return text;
  const [start, end] = [text.slice(0, head), text.slice(-tail)];
  return `${start}\n[... ${text.length - head - tail} characters left out: write to a file, and read the part that matters ...]\n${end}`;
}
