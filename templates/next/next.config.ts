import type { NextConfig } from 'next';

const config: NextConfig = {
  // This folder alone, whatever is in the folders above it.
  turbopack: { root: import.meta.dirname },
};
export default config;
