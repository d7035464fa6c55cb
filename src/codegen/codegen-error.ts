/** Bindings cannot be made; the message says why, for whoever asked for them. */
export class CodegenError extends Error {
  override readonly name = 'CodegenError';
}
