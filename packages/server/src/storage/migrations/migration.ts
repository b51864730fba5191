export type DialectName = 'sqlite' | 'postgres';

/** One numbered step of the schema. Once released it never changes; later changes are later steps. */
export interface NumberedMigration {
  id: string;
  statements(dialect: DialectName): string[];
}
