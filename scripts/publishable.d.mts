export function publishablePackages(): string[];
