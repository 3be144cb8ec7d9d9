/** A token, and how a new one is had when the server no longer takes it. */
export interface Tokens {
  /** The token to send; undefined where there is none. */
  current(): Promise<string | undefined>;
  /** A token that the server refused: true where asking again is worth while. However many were refused at once, one new token is asked for. */
  refused(token: string | undefined): boolean;
}

export function tokens(source: string | (() => string | Promise<string>) | undefined): Tokens {
  if (typeof source !== "function") return { current: async () => source, refused: () => false };
  let asked: Promise<string> | undefined;
  let value: string | undefined;
  return {
    async current() {
      asked ??= Promise.resolve(source());
      try {
        value = await asked;
      } catch (error) {
        asked = undefined;
        throw error;
      }
      return value;
    },
    refused(token) {
      // Whoever hears of the same refusal later finds another token, or one on its way.
      if (token === value) asked = value = undefined;
      return true;
    },
  };
}
