export function anchorsOf(markdown: string): Set<string>;
export function linksOf(markdown: string): string[];
export function strangersOf(text: string): string[];
export function pathsOf(markdown: string): string[];
export function slugOf(title: string): string;
export function excessOf(pages: ReadonlyMap<string, string>): string[];
export function ownWordsOf(markdown: string): string[];
export function staleFigures(pages: ReadonlyMap<string, string>): string[];
