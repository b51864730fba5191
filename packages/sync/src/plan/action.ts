import type { Entry, FoundEntry } from './tree.js';

/** One step. `local` and `remote` say which side is changed. */
export type Action =
  /** Writes an entry of the other side: a file's content travels, directories and links are made. */
  | {
      readonly kind: 'write';
      readonly side: Side;
      readonly path: string;
      readonly entry: Entry;
      /** The entry that it replaces, as it was found; undefined when nothing may be there. */
      readonly replaces: FoundEntry | undefined;
      /** Where the other side has the content: in a conflict under its new name. */
      readonly source: FoundEntry | undefined;
    }
  | { readonly kind: 'delete'; readonly side: Side; readonly path: string; readonly found: FoundEntry }
  /** Moves a file within a side, instead of sending content that the side has already. */
  | {
      readonly kind: 'rename';
      readonly side: Side;
      readonly path: string;
      readonly to: string;
      readonly found: FoundEntry;
    }
  /** Reports a conflict; with a copy, the remote version is moved there. */
  | ({ readonly kind: 'conflict'; readonly found: FoundEntry | undefined } & Conflict);

/** One of the two trees. */
export type Side = 'local' | 'remote';

/** Both sides changed one path. */
export interface Conflict {
  readonly path: string;
  /** Whose version stays there. */
  readonly kept: 'local' | 'remote';
  /** Where the remote version goes; undefined when the other version is given up. */
  readonly copy: string | undefined;
}
