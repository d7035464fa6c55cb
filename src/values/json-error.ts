/**
 * A text that is not JSON, or JSON that is not a value of the expected type.
 *
 * @example
 * ```ts
 * parseJson('[1,]'); // throws 'trailing comma at line 1 column 4'
 * ```
 */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}
