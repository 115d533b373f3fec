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

const page = document.getElementById('page');
if (page) {
  createRoot(page).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base={root}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  );
}
serveOffline();
