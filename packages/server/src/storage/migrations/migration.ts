export type DialectName = 'sqlite' | 'postgres';

/** One numbered step of the schema. Once released it never changes; later changes are later steps. */
export interface Migration {
  id: string;
  statements(dialect: DialectName): string[];
}
