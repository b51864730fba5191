/**
 * The base64 methods of `Uint8Array` that the language has and Node 20 to 24 lack, by Node's own coder. The RPC library uses
 * them where they are there when it loads. Its way without them adds character to character, which in the daemon's small heap
 * took 17 ms for the 32 KiB of one message: a program that printed much kept everybody else's calls waiting for half a minute.
 */
interface Base64Methods {
  toBase64?(options?: { alphabet?: 'base64' | 'base64url'; omitPadding?: boolean }): string;
  setFromBase64?(text: string): { read: number; written: number };
}

const WHOLE = /^[A-Za-z0-9+/]*={0,2}$/;

export const toBase64: NonNullable<Base64Methods['toBase64']> = function (
  this: Uint8Array,
  { alphabet = 'base64', omitPadding = false } = {},
) {
  const text = viewOf(this).toString(alphabet);
  if (alphabet === 'base64') return omitPadding ? text.replace(/=+$/, '') : text;
  return omitPadding ? text : text.padEnd(Math.ceil(text.length / 4) * 4, '=');
};

/** Takes whole groups of four without white space. @throws {SyntaxError} for all else, which the RPC library reads itself. */
export const setFromBase64: NonNullable<Base64Methods['setFromBase64']> = function (this: Uint8Array, text) {
  if (text.length % 4 !== 0 || !WHOLE.test(text)) throw new SyntaxError('not whole groups of base64');
  return { read: text.length, written: viewOf(this).write(text, 'base64') };
};

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// As the language defines methods: whoever lists the keys of bytes does not meet them.
for (const [name, value] of Object.entries({ toBase64, setFromBase64 }))
  if (!(name in Uint8Array.prototype))
    Object.defineProperty(Uint8Array.prototype, name, { value, writable: true, configurable: true });
