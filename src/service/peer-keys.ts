/**
 * Keys that `config.toml` of a SpacetimeDB server may have and that have no effect here, with the
 * setting to use in their place, if there is one: such a file need not be changed to be used.
 */
export const peerKeys: ReadonlyMap<string, string | undefined> = new Map([
  ['logs.directives', 'logs.level'],
  ['module-http.enabled', undefined],
  ['wasm.procedure-instance-pool-size', undefined],
  ['v8.procedure-instance-pool-size', undefined],
  ['v8-heap-policy.heap-check-request-interval', undefined],
  ['v8-heap-policy.heap-check-time-interval', undefined],
  ['v8-heap-policy.heap-gc-trigger-fraction', undefined],
  ['v8-heap-policy.heap-retire-fraction', undefined],
  ['v8-heap-policy.heap-limit-mb', 'limits.heap'],
  ['commitlog.log-format-version', undefined],
  ['commitlog.max-segment-size', undefined],
  ['commitlog.offset-index-interval-bytes', undefined],
  ['commitlog.offset-index-require-segment-fsync', undefined],
  ['commitlog.preallocate-segments', undefined],
  ['commitlog.write-buffer-size', undefined],
]);
