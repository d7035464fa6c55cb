/** A text that is not JSON, or JSON that is not a value of the expected type. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}
