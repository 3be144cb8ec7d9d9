/** Builds the page into a folder. @default dist/page */
export function bundlePage(outdir?: string): Promise<void>;
