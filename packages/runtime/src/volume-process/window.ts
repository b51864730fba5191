/** Bytes that one side sends before the other has read them, for one call and for all together. */
export const WINDOW_BYTES = 4 * 2 ** 20;

/**
 * Of either side of a connection. Node never takes off its count what was not sent or not read of an upload that failed, though that is
 * freed, and begins no call any more on a connection that has reached 10 MB so. Its number has 32 bits.
 */
export const MOST_COUNTED_MB = 4_000;
