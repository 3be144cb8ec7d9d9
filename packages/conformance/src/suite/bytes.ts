/** The bytes of every upload and download: each value of a byte, so that no text encoding leaves them as they are. */
export const BYTES = Uint8Array.from({ length: 512 }, (_, at) => at % 256);

/** The form of bytes in a line of a fixture or a client. */
export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
