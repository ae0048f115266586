"""Tables of one's own: files of any format as columns of text, and what their labels mean."""
