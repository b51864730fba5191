/** Characters that change the direction of what follows them, or that nobody sees. */
const HIDDEN = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
/** Colours and cursor moves of terminals. */
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Longest text that is shown whole, characters. */
const LONGEST = 4_000;

/**
 * Text of a stranger as it may be shown: characters that would turn what follows them around, or hide it, are spelled out, and what
 * is too long for a page is cut and says so. Markup needs no care: text never becomes markup.
 */
export function visibleText(text: string, longest = LONGEST): string {
  const cut = text.length > longest ? text.slice(0, longest) : text;
  const shown = cut
    .replace(ANSI, '')
    .replace(HIDDEN, (character) => `⟨U+${code(character)}⟩`)
    .replace(CONTROL, (character) => `⟨${code(character).slice(2)}⟩`);
  const more = text.length - cut.length;
  return more === 0 ? shown : `${shown}… (${more.toLocaleString('en')} more characters)`;
}

function code(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
}
