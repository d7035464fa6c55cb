/** This host cannot be part of the cluster. The message says why, and what to do. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
}
