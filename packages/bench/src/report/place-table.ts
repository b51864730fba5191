const START = '<!-- bench -->';
const END = '<!-- /bench -->';

/** Puts a table between the two marks of a document. @throws when they are not there */
export function placeTable(document: string, table: string): string {
  const start = document.indexOf(START);
  const end = document.indexOf(END);
  if (start < 0 || end < start) throw new Error(`the document has no ${START} ... ${END}`);
  return `${document.slice(0, start + START.length)}\n\n${table}\n\n${document.slice(end)}`;
}
