/** Bytes that one side sends before the other has read them, for one call and for all together. */
export const WINDOW_BYTES = 4 * 2 ** 20;
