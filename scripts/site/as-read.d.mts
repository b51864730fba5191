export function asRead(markdown: string): string;
