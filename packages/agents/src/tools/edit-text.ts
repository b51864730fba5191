/**
 * Replaces a piece of a text, literally. Pure.
 * @throws when the piece is not there, or several times without `everywhere`: with what to do then
 */
export function editText(
  path: string,
  before: string,
  piece: string,
  replacement: string,
  everywhere: boolean,
): { after: string; count: number } {
  const parts = before.split(piece);
  const count = parts.length - 1;
  if (count === 0)
    throw new Error(
      `${path} does not have this old_text. Read the file, and give it exactly as it is there.`,
    );
  if (count > 1 && !everywhere)
    throw new Error(
      `${path} has this old_text ${count} times. Give more lines around the place that you mean, or set replace_all.`,
    );
  return { after: parts.join(replacement), count };
}
