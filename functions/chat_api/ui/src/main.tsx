import './zod.ts';
import './styles/base.css';
import './styles/layout.css';
import './styles/chat.css';
import './styles/task.css';
import './styles/result.css';

import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';

import { App } from './app.tsx';
import { root } from './api.ts';
import { queries } from './queries.ts';
import { serveOffline } from './worker.ts';
import { learn } from './words.ts';

const page = document.getElementById('page');
// Not awaited here: what is loaded later would wait for this file, which waits for it.
if (page) {
  void learn().then(() => createRoot(page).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={root}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  ));
}
serveOffline();
