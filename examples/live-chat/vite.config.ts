import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  // Where the library comes from inside this repository is said in tsconfig.json, once.
  resolve: { tsconfigPaths: true },
});
