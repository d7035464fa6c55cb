/** What is read of a line in the module's log. */
interface CrashLine {
  readonly message: string;
  readonly trace?: readonly { readonly module_name?: string | undefined }[] | undefined;
}

/**
 * Why a function of a module crashed, and where in its source, by the line in the module's log:
 * `Uncaught TypeError: a detail, at src/index.ts:12:9`.
 */
export function crashReason({ message, trace = [] }: CrashLine): string {
  const place = trace.find((frame) => frame.module_name !== undefined)?.module_name;
  return place === undefined ? message : `${message}, at ${place}`;
}
