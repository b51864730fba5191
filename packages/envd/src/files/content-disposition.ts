/** `inline` with a file name: plain where it is plain ASCII, and by RFC 5987 where it is not. */
export function inlineDisposition(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '\\$&');
  const value = `inline; filename="${plain}"`;
  if (!/[^\x20-\x7e]/.test(name)) return value;
  // Lone surrogates have no UTF-8 form.
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${value}; filename*=UTF-8''${encoded}`;
}
