/**
 * Keys of a SpacetimeDB server's `config.toml` that have no effect here, with their replacement, if
 * one exists. Such a file can be used unchanged.
 */
export const peerKeys: ReadonlyMap<string, string | undefined> = new Map([
  ['logs.directives', 'logs.level'],
  ['module-http.enabled', 'module-http.mode'],
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

/** Values of such keys that mean a value of one of our settings. */
export const peerValues: readonly {
  readonly key: string;
  readonly value: unknown;
  readonly ours: readonly [key: string, value: unknown];
}[] = [{ key: 'module-http.enabled', value: false, ours: ['module-http.mode', 'off'] }];
