/** Codes of JSON-RPC, and those of this protocol. */
export const rpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Legacy revisions only; later ones say -32602. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** A request that is answered with a JSON-RPC error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** What a program reads of it. */
  readonly data: object | undefined;
  /** HTTP status, where it is not the one that the era has for the code. */
  readonly status: number | undefined;

  constructor(code: number, message: string, data?: object, status?: number) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
  }
}

/** What is wrong with the parameters of a request, in words. */
export function invalidParams(message: string, data?: object): RpcError {
  return new RpcError(rpcCode.invalidParams, message, data);
}
