/** Error codes of JSON-RPC and of this protocol. */
export const rpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Legacy revisions only; later ones use -32602. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** Ends a request with a JSON-RPC error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** Machine-readable details. */
  readonly data: object | undefined;
  /** HTTP status, if it is not the era's default for the code. */
  readonly status: number | undefined;

  constructor(code: number, message: string, data?: object, status?: number) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
  }
}

/** Creates an error that describes invalid parameters. */
export function invalidParams(message: string, data?: object): RpcError {
  return new RpcError(rpcCode.invalidParams, message, data);
}
