export interface Circle {
  folder: string;
  members: string[];
  because: { from: string; to: string; examples: string[] }[];
}

export function importsOf(text: string): string[];
export function circlesOf(imports: Map<string, string[]>): Circle[];
