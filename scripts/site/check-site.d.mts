export function checkSite(directory: string): string[];
