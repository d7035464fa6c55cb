/** Bindings cannot be generated; the message, meant for the user, says why. */
export class CodegenError extends Error {
  override readonly name = 'CodegenError';
}
