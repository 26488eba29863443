
BXJ$ZC“¬ÇÀ{»BŒ¸u7\»0CXC[¸x¾Y@B‰²æ?E»A