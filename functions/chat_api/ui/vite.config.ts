import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// Relative addresses: the page lies below each tenant's base, which the server writes into <base>.
export default defineConfig({
  base: './',
  plugins: [react()],
  // Each language is one piece.
  json: { namedExports: false, stringify: false },
  build: {
    outDir: 'dist',
    assetsDir: 'assets',
    sourcemap: false,
    target: 'es2023',
    // An inlined file would be a data: address, which the policy forbids for all but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      input: ['index.html', 'worker/worker.ts'],
      // The service worker has one address for ever: what it holds tells the browser that there is another.
      output: { entryFileNames: ({ name }) => (name === 'worker' ? 'worker.js' : 'assets/[name]-[hash].js') },
    },
  },
});
